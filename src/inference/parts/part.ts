import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** A large optional part of this program: npm packages in a folder of their own, installed when they are asked for. */
export interface Part {
  /** Of its folder. */
  readonly folder: string
  /** What `svc engines install` calls it. */
  readonly names: readonly string[]
  /** For people. */
  readonly summary: string
  /** Exactly these versions: newer ones have not been tried. */
  readonly packages: Readonly<Record<string, string>>
  /** The package and the file in it that is imported. */
  readonly module: { readonly name: string; readonly file: string }
  /** About what it takes on disk, in megabytes, to be said beforehand. */
  readonly megabytes: number
  /** Lines of the .npmrc beside it. */
  readonly npmrc: readonly string[]
  /** Folders under node_modules that nothing here loads. */
  readonly unused: readonly string[]
}

const napi = (os: string, arch: string): string => `onnxruntime-node/bin/napi-v6/${os}/${arch}`

const OTHER_PLATFORMS = ['darwin', 'linux', 'win32']
  .flatMap((os) => ['arm64', 'x64'].map((arch) => ({ os, arch })))
  .filter(({ os, arch }) => os !== process.platform || arch !== process.arch)
  .map(({ os, arch }) => napi(os, arch))

export const ONNXRUNTIME: Part = {
  folder: 'onnxruntime',
  names: ['onnxruntime'],
  summary: 'ONNX models: embeddings, Whisper, language models',
  packages: { '@huggingface/transformers': '4.3.1' },
  module: { name: '@huggingface/transformers', file: 'dist/transformers.node.mjs' },
  megabytes: 100,
  // Else its install script asks elsewhere for CUDA's files, and fails where there is no way there.
  npmrc: ['onnxruntime-node-install=skip'],
  // The build for web pages, and the libraries of other systems: four fifths of what npm brings.
  unused: ['onnxruntime-web', ...OTHER_PLATFORMS],
}

/** The version of node-llama-cpp that this program was made for, here and in package.json. */
const NODE_LLAMA_CPP = '3.22.1'

export const LLAMA_GPU: Part = {
  folder: 'llama.cpp-gpu',
  names: ['llama.cpp-cuda', 'llama.cpp-vulkan'],
  summary: 'llama.cpp on graphics cards: the CUDA and Vulkan builds',
  packages: { 'node-llama-cpp': NODE_LLAMA_CPP },
  module: { name: 'node-llama-cpp', file: 'dist/index.js' },
  megabytes: 725,
  npmrc: [],
  unused: [],
}

export const PARTS: readonly Part[] = [ONNXRUNTIME, LLAMA_GPU]

export const partNamed = (name: string): Part | null => PARTS.find(({ names }) => names.includes(name)) ?? null

export const installLine = ({ names }: Part): string => `svc engines install ${names[0]}`

/** Where parts are kept: `engines` in the user's folder, which is SERVICE_HOME, else ~/.svc. */
export const enginesFolder = (env: Readonly<Record<string, string | undefined>>): string =>
  join(resolve(env.SERVICE_HOME || join(homedir(), '.svc')), 'engines')
