/** `0.875` -> `87.5%` */
export const percent = (share: number, digits = 1): string => `${(share * 100).toFixed(digits)}%`
