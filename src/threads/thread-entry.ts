/**
 * The file a worker thread or child process starts from, beside the module that starts it: the .ts source when the
 * program runs from source (tests, `npm run dev`), the .js file when it runs built.
 */
export const threadEntry = (importMetaUrl: string, name: string): URL =>
  new URL(`./${name}${importMetaUrl.endsWith('.ts') ? '.ts' : '.js'}`, importMetaUrl)
