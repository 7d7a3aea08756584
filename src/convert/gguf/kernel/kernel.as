// What the WASM module exports. Compiled by scripts/kernel.mjs into ../kernel.gen.ts.
export { fromBF16, fromF16, fromQ8_0, largest, toF16, toQ4_0, toQ5_0, toQ5_1, toQ8_0 } from './simple'
export { toQ4_K, toQ5_K, toQ6_K } from './super'
