//! One source, two compilations: hot loops run in AVX2 where the processor has it, found out at run time, and in
//! portable code everywhere else. This is the only module with `unsafe`: calling code compiled for features that the
//! whole program does not assume.

/// Whether this processor runs the AVX2 compilation.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_avx2() -> bool {
    // Each of these is a cached load after the first time.
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("lzcnt")
        && std::arch::is_x86_feature_detected!("popcnt")
}

/// Compiles functions twice, as modules `portable` and `avx2`. They may call each other, and use `mobility` and `flips`,
/// each of its own compilation.
macro_rules! multiversion {
    ($(
        $(#[doc = $doc:literal])*
        fn $name:ident $(<const $generic:ident: $generic_type:ty>)? ($($arg:ident: $arg_type:ty),* $(,)?) -> $ret:ty
        $body:block
    )*) => {
        /// For every processor.
        pub(crate) mod portable {
            #[allow(unused_imports, reason = "not every file needs both")]
            use crate::reversi::bits::{flips, mobility};
            #[allow(unused_imports, reason = "the functions may be all there is")]
            use super::*;

            $(
                $(#[doc = $doc])*
                pub(crate) fn $name $(<const $generic: $generic_type>)? ($($arg: $arg_type),*) -> $ret $body
            )*
        }

        /// For processors with AVX2.
        #[cfg(target_arch = "x86_64")]
        pub(crate) mod avx2 {
            #[allow(unused_imports, reason = "not every file needs both")]
            use crate::reversi::bits::avx2::{flips, mobility};
            #[allow(unused_imports, reason = "the functions may be all there is")]
            use super::*;

            $(
                $(#[doc = $doc])*
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                pub(crate) fn $name $(<const $generic: $generic_type>)? ($($arg: $arg_type),*) -> $ret $body
            )*
        }
    };
}

/// Calls the compilation that this processor runs: `dispatch!(kernel, function(arguments))`.
macro_rules! dispatch {
    ($module:ident, $($call:tt)*) => {{
        #[cfg(target_arch = "x86_64")]
        if $crate::simd::has_avx2() {
            #[allow(unsafe_code, reason = "calling code compiled for more features than the program assumes")]
            // SAFETY: the functions of this module need exactly the processor features that `has_avx2` has just found.
            return unsafe { $module::avx2::$($call)* };
        }
        $module::portable::$($call)*
    }};
}

pub(crate) use {dispatch, multiversion};
