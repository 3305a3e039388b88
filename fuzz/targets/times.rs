#![no_main]
libfuzzer_sys::fuzz_target!(|input: &[u8]| bucket_runtime::fuzz::times(input));
