#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| offshoot_fuzz::targets::claude_lines(bytes));
