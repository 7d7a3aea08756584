import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { delimiter, dirname, join, resolve } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../databases.ts'
import { builtFile } from './built-program.ts'
import { until } from './service-process.ts'

/** Returns the shell blocks of the README's first hour, in order. */
const blocksOfFirstHour = async (): Promise<string[]> => {
  const readme = await readFile('README.md', 'utf8')
  const tour = /\n## The first hour\n(.*?)\n## /s.exec(readme)![1]!
  return [...tour.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1]!)
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Commands that keep their terminal busy, and what they print once the next ones can run. */
const STAYS: readonly (readonly [command: RegExp, ready: RegExp])[] = [
  [/^npx svc up$/m, /Dashboard:/],
  [/^npx svc agent /m, /is waiting for rounds/],
  [/^npx svc serve /m, /Queue:/],
]

/** Installs `npx svc` like a newly installed package, but with the built program. */
const installed = async (): Promise<string> => {
  const folder = await emptyFolder()
  const script = async (name: string, text: string): Promise<void> => {
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`)
    await chmod(join(folder, name), 0o755)
  }
  await script('npx', `shift; exec "${process.execPath}" --liftoff-only "${await builtFile('cli/main.js')}" "$@"`)
  return folder
}

it("the README's first hour works when its blocks are pasted one after another on a fresh machine", async () => {
  const [service, inference] = [await freePort(), await freePort()]
  const home = join(await emptyFolder(), 'home')
  await mkdir(home)
  const cwd = await emptyFolder()
  await symlink(resolve('examples'), join(cwd, 'examples'))
  const programs = await installed()
  const env = {
    PATH: [programs, dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: home,
    SERVICE_PORT: String(service),
    SERVICE_API_BASE: `http://127.0.0.1:${service}`,
  }
  const adapted = (block: string): string =>
    block
      .replaceAll('127.0.0.1:8000', `127.0.0.1:${service}`)
      .replaceAll('127.0.0.1:8080', `127.0.0.1:${inference}`)
      .replace(/^npx svc serve starter$/m, `npx svc serve starter --port ${inference} --host 127.0.0.1 --no-announce`)

  const run = (script: string): { readonly child: ChildProcess; readonly output: () => string } => {
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd, env, detached: true, stdio: 'pipe' })
    // SIGTERM, not SIGKILL: `svc up` then stops the service, which is not in its process group.
    onTestFinished(async () => {
      if (child.exitCode !== null) return
      process.kill(-child.pid!, 'SIGTERM')
      await once(child, 'close')
    })
    let output = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece) => (output += piece))
    return { child, output: () => output }
  }

  const outputs: string[] = []
  // Variables that one block sets in its terminal are available to the next ones.
  const variables = join(home, 'variables')
  await writeFile(variables, '')
  for (const block of await blocksOfFirstHour()) {
    const script = `. "${variables}"\n${adapted(block)}`
    const ready = STAYS.find(([command]) => command.test(block))?.[1]
    if (ready === undefined) {
      const { child, output } = run(
        `${script}\ndeclare -p DEVICE KEY ROUND ROUND_ID > "${variables}" 2> /dev/null || true`,
      )
      const [code] = (await once(child, 'close')) as [number | null]
      expect(code, `${block}\n${output()}`).toBe(0)
      outputs.push(output())
    } else {
      const { child, output } = run(script)
      await until(
        async () => ({ ended: child.exitCode, text: output() }),
        ({ ended, text }) => ended !== null || ready.test(text),
      )
      expect(child.exitCode, `${block}\n${output()}`).toBeNull()
    }
  }
  const [pushed, training, delivery, , update, round, response, chat, converted] = outputs
  expect(pushed).toContain('Version:   1.0.0')
  expect(JSON.parse(update!.trim())).toMatchObject({ num_samples: 120 })
  expect(JSON.parse(round!.trim())).toMatchObject({
    status: expect.stringMatching(/^(aggregating|completed)$/),
    completed_devices: 1,
  })
  expect(training).toContain('Completed: All 3 requested rounds are completed.')
  expect(delivery).toMatch(/completed +100% .*active 1|completed at 100%; devices: active 1/)
  expect(response).toContain('A rollout brings a new model version to devices in steps.')
  expect(chat).toContain('The capital of Japan is Tokyo.')
  expect(converted).toMatch(/tflite .*model\.tflite.*coreml .*model\.mlmodel.*pi-5 .* runs/s)
})
