// Rows of 16-bit floats as f32, which holds every one of them exactly; padding is widened too.
import { bf16ToF32x4, f16ToF32x4 } from './half'

export function widenF16(row: usize, out: usize, length: i32): void {
  const end = row + ((<usize>length + 7) & ~7) * 2
  for (; row < end; row += 8, out += 16) v128.store(out, f16ToF32x4(row))
}

export function widenBf16(row: usize, out: usize, length: i32): void {
  const end = row + ((<usize>length + 7) & ~7) * 2
  for (; row < end; row += 8, out += 16) v128.store(out, bf16ToF32x4(row))
}
