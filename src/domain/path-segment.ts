/** False for texts that no path can contain as a segment: '', and '.' and '..', which URLs resolve, percent-encoded or not. */
export const isPathSegment = (text: string): boolean => !['', '.', '..'].includes(text)
