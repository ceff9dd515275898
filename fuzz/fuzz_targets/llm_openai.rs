#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| offshoot_fuzz::targets::llm_openai(bytes));
