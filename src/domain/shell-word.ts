/** Quotes a text for a shell. Single quotes make everything literal (POSIX, 2.2.2). */
export const quoteShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Quotes a text as one word of a command to copy into a shell, if needed: names are chosen by others and may contain spaces
 * or `$(…)`. Shells also expand a `~`, which bash does after a `=`, too, and, in zsh, a `=` at the beginning of a word.
 */
export const shellWord = (text: string): string => (/^[\w%+,./:@][\w%+,./:=@-]*$/.test(text) ? text : quoteShell(text))
