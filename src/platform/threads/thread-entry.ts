import { compiledEntry } from './compiled-entry.ts'

/**
 * The file a worker thread or child process starts from, beside the module that starts it. Built, that is the .js file
 * of this name. From source (tests, `npm run dev`) it is the .ts file, compiled where the name says that it is a
 * program of its own: `x.worker` or `x.process`.
 */
export const threadEntry = (importMetaUrl: string, name: string): URL => {
  if (!importMetaUrl.endsWith('.ts')) return new URL(`./${name}.js`, importMetaUrl)
  const source = new URL(`./${name}.ts`, importMetaUrl)
  return /\.(worker|process)$/.test(name) ? compiledEntry(source) : source
}
