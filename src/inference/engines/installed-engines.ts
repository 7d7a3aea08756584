import { createRequire } from 'node:module'
import { ENGINE_NAMES, type EngineName } from '../engine.ts'
import { type Environment, findProgram } from './find-program.ts'
import { PROGRAMS } from './proxied/programs.ts'

export interface EngineStatus {
  readonly name: EngineName
  readonly installed: boolean
  /** What it is here: a program's path, or the package it comes in. */
  readonly where: string | null
  /** The command that installs it. */
  readonly install: string
}

const NPM_PACKAGES: Readonly<Partial<Record<EngineName, { readonly name: string; readonly install: string }>>> = {
  'llama.cpp': { name: 'node-llama-cpp', install: 'npm install node-llama-cpp' },
  onnxruntime: { name: '@huggingface/transformers', install: 'npm install @huggingface/transformers' },
}

/** Found without loading it: loading takes long, and may crash where a binary does not fit. */
const isResolvable = (name: string): boolean => {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch (error) {
    // There, but for `import` only.
    return (error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED'
  }
}

export const engineStatus = async (name: EngineName, env: Environment): Promise<EngineStatus> => {
  const npm = NPM_PACKAGES[name]
  if (npm !== undefined) {
    const installed = isResolvable(npm.name)
    return { name, installed, where: installed ? npm.name : null, install: npm.install }
  }
  const { program, install } = PROGRAMS[name as keyof typeof PROGRAMS]
  const where = await findProgram(program, env)
  return { name, installed: where !== null, where, install }
}

export const allEngines = (env: Environment): Promise<readonly EngineStatus[]> =>
  Promise.all(ENGINE_NAMES.map((name) => engineStatus(name, env)))
