// The programs among the compiled files as one file each.
import { readFileSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'

/** Loaded when first needed, or not without the files beside them. */
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
 * A program as one file, with others for what is imported when first needed: Node takes longer to find, read and link hundreds of files than
 * for all else at its start. What finds other files by its own place still does.
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
    // Node keeps a program's text in memory, and one character beyond ASCII doubles it. The lines are short for stack traces.
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'external',
    // Packages in CommonJS call it for Node's own modules.
    banner: {
      js: "import { createRequire as requireOf } from 'node:module';const require = requireOf(import.meta.url);",
    },
    plugins: [
      {
        name: 'places',
        setup: ({ onLoad }) =>
          onLoad({ filter: /\.js$/ }, ({ path }) => {
            if (!path.startsWith(`${built}/`)) return undefined
            const place = `new URL(${JSON.stringify(`./${relative(outdir, path)}`)}, import.meta.url).href`
            return { contents: readFileSync(path, 'utf8').replace(/(?<!['"])import\.meta\.url/g, place) }
          }),
      },
    ],
  })
}

export const bundlePrograms = async (folder) => {
  // esbuild names files by their real paths.
  const built = realpathSync(folder)
  await bundle(built, 'main.js', '.', 'service')
  await bundle(built, 'main.js', 'cli', 'svc')
  await bundle(built, 'engine.process.js', 'inference/engines/llama', 'engine')
}
