/** What cmd.exe interprets: outside of quotes, and some of it within. */
const SPECIAL = /[()\][%!^"`<>&|;, *?]/g

const escaped = (text: string): string => text.replace(SPECIAL, '^$&')

/** As Windows programs split their command line: backslashes are special only before a quote. */
const quoted = (text: string): string => `"${text.replace(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, '$&$&')}"`

/**
 * The command line with which cmd.exe passes `argv` unchanged to a .cmd file, such as npm writes for its programs. Arguments are
 * escaped twice, because cmd.exe reads them again where the file passes them on.
 */
export const batchCommand = (path: string, argv: readonly string[]): string =>
  `"${[`"${path}"`, ...argv.map((word) => escaped(escaped(quoted(word))))].join(' ')}"`
