//! What the black-box tests share: servers on free ports, waiting for conditions.
#![forbid(unsafe_code)]
