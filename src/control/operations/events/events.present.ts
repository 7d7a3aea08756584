import type { Frame } from './events.service.ts'

/** Returns a frame in the format of server-sent events (WHATWG HTML, section 9.2). */
export const presentFrame = (frame: Frame): string => {
  switch (frame.kind) {
    case 'ping':
      return ': ping\n\n'
    case 'ready':
    case 'resync':
      return `${frame.id === null ? '' : `id: ${frame.id}\n`}event: ${frame.kind}\ndata: {}\n\n`
    case 'event': {
      const { id, type, subject, payload, at } = frame.event
      const data = JSON.stringify({ type, subject, payload, time: at.toISOString() })
      return `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`
    }
  }
}
