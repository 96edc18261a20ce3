//! Compiles the protos under `proto/` in pure Rust; no `protoc` is needed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    for package in ["tablemate/v1", "tablemate/storage/v1"] {
        let folder = root.join(package);
        if folder.is_dir() {
            for entry in fs::read_dir(folder)? {
                files.push(entry?.path());
            }
        }
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "proto"));
    files.sort();
    let descriptors = protox::compile(&files, [&root])?;

    // Reflection serves the public package only: what is stored is nobody's business.
    let mut public = descriptors.clone();
    public
        .file
        .retain(|file| !file.package().starts_with("tablemate.storage"));
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), public.encode_to_vec())?;

    tonic_prost_build::configure()
        .codec_path("crate::codec::ApiCodec")
        .compile_fds(descriptors)?;
    Ok(())
}
