import { createInterface } from 'node:readline'
import { loadAddon } from './binding/load-addon.ts'

/**
 * Runs llama.cpp in a process that may crash on its input. For each path that it reads, it loads the model, computes four
 * tokens, and reports the result. For 'facts', it lists the architectures and types that llama.cpp knows.
 */
const addon = await loadAddon(null)

/** The parts of the addon that only tests use. */
interface Facts {
  getAllArchs(): string[]
  getIsArchRecurrent(architecture: string): boolean | undefined
  getIsArchHybrid(architecture: string): boolean | undefined
  getBlockSizeForGgmlType(type: number): number | undefined
  getTypeSizeForGgmlType(type: number): number | undefined
}

const facts = (): string => {
  const more = addon as typeof addon & Facts
  const names = more.getAllArchs().filter((name) => name !== '(unknown)')
  const keepState = names.filter((name) => more.getIsArchRecurrent(name) || more.getIsArchHybrid(name))
  const types = Array.from({ length: 64 }, (_, type) => {
    const elements = more.getBlockSizeForGgmlType(type)
    return elements ? [elements, more.getTypeSizeForGgmlType(type)] : [0, 0]
  })
  return JSON.stringify({ names: names.sort(), keepState: keepState.sort(), types })
}

const load = async (path: string): Promise<string> => {
  const model = new addon.AddonModel(path, { addonExports: addon, gpuLayers: 0, useMmap: true })
  if (!(await model.init())) return 'refused'
  const context = new addon.AddonContext(model, { contextSize: 256, batchSize: 32, sequences: 1, threads: 1 })
  if (!(await context.init())) return 'refused'
  context.initBatch(4)
  context.addToBatch(0, 0, Uint32Array.of(4, 5, 6, 7), Uint32Array.of(3))
  await context.decodeBatch()
  await context.dispose()
  await model.dispose()
  return 'loaded'
}

for await (const line of createInterface(process.stdin))
  console.log(line === 'facts' ? facts() : await load(line).catch(() => 'refused'))
process.exit(0)
