//! Compiles the contract without a protoc on the machine.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=vufleet/v1/fleet.proto");
    let descriptors = protox::compile(["vufleet/v1/fleet.proto"], ["."])?;
    tonic_prost_build::configure()
        .bytes(".vufleet.v1.KindCounts")
        .bytes(".vufleet.v1.Output")
        .skip_debug([".vufleet.v1.Secrets"])
        .compile_fds(descriptors)?;
    Ok(())
}
