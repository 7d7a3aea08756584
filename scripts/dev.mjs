// `npm run dev`: runs the service from its sources on port 8000 and restarts it when they change, and the dashboard on port
// 5173, which forwards requests for the service.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'
import { viteSettings } from './web.mjs'

const port = Number(process.env.SERVICE_PORT ?? 8000)
const service = `http://127.0.0.1:${port}`
const proxied = ['/api', '/openapi.json', '/login', '/metrics', '/health']

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))
const child = spawn(process.execPath, ['--import', 'tsx', '--watch', main], { stdio: 'inherit' })
const web = await createServer({
  ...viteSettings,
  server: { host: '127.0.0.1', port: 5173, proxy: Object.fromEntries(proxied.map((path) => [path, service])) },
})
await web.listen()
console.log(`The dashboard, from its sources: ${web.resolvedUrls?.local[0]}`)

child.on('exit', async (code) => {
  await web.close()
  process.exit(code ?? 0)
})
