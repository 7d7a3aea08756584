/** The number in a text such as 5, 0.05, or 1e-4; NaN for anything else, such as 0x10, an empty text, or Infinity. */
export const decimalNumber = (text: string): number =>
  /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN
