/**
 * Whether two email addresses are the same. With most locales, PostgreSQL folds more than JavaScript: İ (U+0130) becomes i. What
 * it finds by `lower(email)` is therefore compared once more, by the form in which attempts are counted, and in upper case: the
 * Kelvin sign (U+212A) has the lower case of K, but is another letter.
 */
export const isSameAddress = (one: string | null, other: string): boolean =>
  one !== null && foldAddress(one) === foldAddress(other) && one.toUpperCase() === other.toUpperCase()

/** The form of an address in which attempts are counted. */
export const foldAddress = (email: string): string => email.toLowerCase()

/** NFC, except with a character that NFC turns into an ASCII one, such as the Kelvin sign: the result would be another address. */
export const normalizeAddress = (email: string): string =>
  /[\u037e\u1fef\u212a]/.test(email) ? email : email.normalize('NFC')
