/**
 * Quotes a name as one word of a command to copy into a shell: names are chosen by others and may contain spaces or `$(…)`.
 * Single quotes make everything literal (POSIX, 2.2.2).
 */
export const shellWord = (name: string): string =>
  /^[\w%+./:=@][\w%+./:=@-]*$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
