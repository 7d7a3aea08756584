/** `plural(1, 'device')` -> `1 device` */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`
