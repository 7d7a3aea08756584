/**
 * The characters of names: no line breaks, nor characters that control terminals or override the text direction. Invisible
 * characters are allowed: Persian words and some emoji contain them.
 */
export const NAME_CHARACTERS = '[^\\p{Cc}\\p{Cs}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069]+'

/** Characters that PostgreSQL cannot store: U+0000, and unpaired surrogates. */
const UNSTORABLE = /[\0\p{Surrogate}]/u

export const isStorable = (text: string): boolean => !UNSTORABLE.test(text)

/** Replaces each character that PostgreSQL cannot store with U+FFFD. */
export const storable = (text: string): string => text.replace(new RegExp(UNSTORABLE, 'gu'), '\ufffd')

/** Returns at most the first `max` UTF-16 code units, without half a surrogate pair at the end. */
export const cut = (text: string, max: number): string =>
  text.length > max ? text.slice(0, max).replace(/[\ud800-\udbff]$/, '') : text
