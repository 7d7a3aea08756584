// A sorting network, given as a table, applied across rows: for more rows than a network of straight-line code serves.
// The table holds pairs of u32, the byte distances from the first of the two rows that one comparator orders. Rows are
// sorted in place, in blocks of 64 columns, so that all rows of a block stay in a near cache.
const BLOCK: usize = 256 // bytes of a row: 64 columns of f32 or 32 of f64

@inline
function order<T>(a: usize, b: usize): void {
  const x = v128.load(a)
  const y = v128.load(b)
  // Operands in this order keep both of two equal values: -0 and 0 are exchanged at worst, never doubled.
  if (sizeof<T>() == 4) {
    v128.store(a, f32x4.pmin(x, y))
    v128.store(b, f32x4.pmax(y, x))
  } else {
    v128.store(a, f64x2.pmin(x, y))
    v128.store(b, f64x2.pmax(y, x))
  }
}

@inline
function sortRows<T>(base: usize, bytes: usize, table: usize, count: i32): void {
  const end = table + <usize>count * 8
  for (let from: usize = 0; from < bytes; from += BLOCK) {
    const width = min(BLOCK, bytes - from)
    const start = base + from
    for (let at = table; at < end; at += 8) {
      const a = start + load<u32>(at)
      const b = start + load<u32>(at, 4)
      for (let i: usize = 0; i < width; i += 16) order<T>(a + i, b + i)
    }
  }
}

export function sortRowsF32(base: usize, length: i32, table: usize, count: i32): void {
  sortRows<f32>(base, ((<usize>length + 7) & ~7) * 4, table, count)
}

export function sortRowsF64(base: usize, length: i32, table: usize, count: i32): void {
  sortRows<f64>(base, ((<usize>length + 7) & ~7) * 8, table, count)
}
