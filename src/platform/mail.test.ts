import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createMailer } from './mail.ts'

const MAIL = { to: 'ada@acme.example', subject: 'Invitation', text: 'A link' }

/** Starts a mail server that handles each connection with `behave`. */
const startServer = async (behave: (socket: Socket) => void) => {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => undefined)
    behave(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, open }
}

const drip = (socket: Socket, line: string): void => {
  const timer = setInterval(() => socket.write(line), 20)
  socket.on('close', () => clearInterval(timer))
}

it('gives up on a mail server that never finishes, and closes the connection', async () => {
  const servers = [
    () => undefined,
    (socket: Socket) => drip(socket, '220-hello\r\n'),
    (socket: Socket) => {
      socket.write('220 hello\r\n')
      socket.once('data', () => drip(socket, '250-more\r\n'))
    },
  ]
  await Promise.all(
    servers.map(async (behave) => {
      const { url, open } = await startServer(behave)
      const result = await createMailer({ url, from: 'svc@acme.example' }, 1500).send(MAIL)
      expect(result).toMatch(/^failed: (the mail server took longer than 1\.5 s|Greeting never received)$/)
      await expect.poll(() => open.size).toBe(0)
    }),
  )
})

it("reports the mail server's refusal, in one line without control characters", async () => {
  const { url } = await startServer((socket) => {
    socket.write('220 hello\r\n')
    socket.on('data', (data) =>
      socket.write(/^RCPT/.test(`${data}`) ? '550 \u001b[31mno\u0007 such user\r\n' : '250 ok\r\n'),
    )
  })
  const result = await createMailer({ url, from: 'svc@acme.example' }).send(MAIL)
  expect(result).toMatch(/^failed: .*550 \[31mno such user$/)
})
