// Bundles each compiled program into one file.
import { readFileSync, realpathSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { build } from 'esbuild'

/** Loaded on demand, or dependent on files next to them. */
const UNBUNDLED = [
  '@aws-sdk/*',
  '@electric-sql/pglite',
  '@node-llama-cpp/*',
  '@node-rs/argon2',
  'esbuild',
  'mpg123-decoder',
  'nodemailer',
  'onnxruntime-node',
  'pg-native',
  'undici',
]

/**
 * Bundles a program into one file, plus chunks for on-demand imports: finding, reading, and linking hundreds of files is most
 * of Node's startup time. Code that locates other files relative to its own still works.
 */
const bundle = (built, name, folder, chunk) => {
  const outdir = join(built, folder)
  return build({
    entryPoints: [join(outdir, name)],
    outdir,
    chunkNames: `${chunk}-[hash]`,
    bundle: true,
    splitting: true,
    allowOverwrite: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    external: UNBUNDLED,
    logLevel: 'warning',
    // Node keeps a program's text in memory, and a single non-ASCII character doubles its size. Short lines help stack traces.
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'external',
    // CommonJS packages call it for Node's built-in modules.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module';const require = requireOf(import.meta.url);",
    },
    plugins: [
      {
        name: 'places',
        setup: ({ onLoad }) =>
          onLoad({ filter: /\.js$/ }, ({ path }) => {
            if (!path.startsWith(built + sep)) return undefined
            const file = relative(outdir, path).split(sep).join('/')
            const place = `new URL(${JSON.stringify(`./${file}`)}, import.meta.url).href`
            return { contents: readFileSync(path, 'utf8').replace(/(?<!['"])import\.meta\.url/g, place) }
          }),
      },
    ],
  })
}

export const bundlePrograms = async (folder) => {
  // esbuild reports files by their real paths.
  const built = realpathSync(folder)
  await bundle(built, 'main.js', '.', 'service')
  await bundle(built, 'main.js', 'cli', 'svc')
  await bundle(built, 'engine.process.js', 'inference/engines/llama', 'engine')
}
