// What the WASM module exports. Compiled by scripts/kernel.mjs into ../kernel.gen.ts.
export { clear, addF32, addF64, addF16, addBf16 } from './add'
export { addI64, addI32, addI16, addI8, addU64, addU32, addU16, addU8, addBool } from './add'
export { addDelta, projection, squaredDistance } from './delta'
export { finishF32, finishF64, finishF16, finishBf16, finishI64, finishI32, finishI16, finishI8 } from './finish'
export { pairsF32, pairsF64 } from './pairs'
export { sortRowsF32, sortRowsF64 } from './ranks'
export { scanF32, scanF64, scanF16, scanBf16 } from './scan'
export { widenBf16, widenF16 } from './widen'
