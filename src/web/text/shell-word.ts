/**
 * A name as one word of a command that somebody copies into a shell: names are chosen by others, and may have spaces, or `$(…)`.
 * Single quotes take everything literally (POSIX, 2.2.2).
 */
export const shellWord = (name: string): string =>
  /^[\w%+./:=@][\w%+./:=@-]*$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
