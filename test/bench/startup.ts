// Time from the start of the process to the response to the first request: `svc serve` and llama.cpp's own server
// (LLAMA_SERVER=<path of llama-server>; without it, ours alone), alternating, on one file (BENCH_MODELS), with their default
// settings. Requires `npm run build`.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../postgres-program.ts'
import { median, pairwise, printTable } from './figures.ts'

const STARTER = fileURLToPath(new URL('../../models/starter.gguf', import.meta.url))
const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const MODEL = (process.env.BENCH_MODELS ?? STARTER).split(',')[0]!
const TURNS = 7
const ASKED = { messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 1, temperature: 0 }

const firstAnswer = async (child: ChildProcess, port: number): Promise<void> => {
  const at = `http://127.0.0.1:${port}/v1`
  for (;;) {
    if (child.exitCode !== null) throw new Error(`The server ended with code ${child.exitCode}.`)
    const listed = await fetch(`${at}/models`).catch(() => null)
    const model = listed?.ok ? ((await listed.json()) as { data: { id: string }[] }).data[0]?.id : undefined
    const body = JSON.stringify({ ...ASKED, model })
    const response =
      model !== undefined &&
      (await fetch(`${at}/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
    // llama-server responds with 503 until its model is loaded.
    if (response && response.status === 200) return void (await response.text())
    await sleep(20)
  }
}

const secondsOf = async (program: string, argv: readonly string[]): Promise<number> => {
  const port = await freePort()
  const began = performance.now()
  const child = spawn(program, [...argv, '--port', `${port}`], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  try {
    await firstAnswer(child, port)
    return (performance.now() - began) / 1000
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

export const benchStartup = async (): Promise<void> => {
  const llama = process.env.LLAMA_SERVER
  const seconds = { ours: [] as number[], llama: [] as number[] }
  for (let turn = 0; turn < TURNS; turn++) {
    seconds.ours.push(
      await secondsOf(process.execPath, [CLI, 'serve', MODEL, '--engine', 'llama.cpp', '--no-announce']),
    )
    if (llama !== undefined) seconds.llama.push(await secondsOf(llama, ['-m', MODEL]))
  }
  const row = (name: string, took: readonly number[]): string[] => [
    name,
    median(took).toFixed(2),
    Math.min(...took).toFixed(2),
    Math.max(...took).toFixed(2),
  ]
  printTable(
    ['first answer after', 'seconds', 'from', 'to'],
    [row('svc serve', seconds.ours), ...(llama === undefined ? [] : [row('llama-server', seconds.llama)])],
  )
  if (llama !== undefined) console.log(`ratio ${median(pairwise(seconds.ours, seconds.llama)).toFixed(2)} (goal 1.2)`)
}
