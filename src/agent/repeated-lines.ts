import { isLogged } from '../domain/repeated-failures.ts'

const MAX_REMEMBERED = 1000

/** Passes lines on as they arrive. Lines that repeat the last remembered run are held back until the first difference. */
export const suppressRepeats = (onLine: (line: string) => void) => {
  let remembered: readonly string[] = []
  let lines: string[] = []
  let shown = 0

  const show = (): void => {
    for (const line of lines.slice(shown)) onLine(line)
    shown = lines.length
  }

  return {
    line(line: string): void {
      if (lines.length >= MAX_REMEMBERED) {
        show()
        onLine(line)
        return
      }
      lines.push(line)
      if (shown > 0 || remembered[lines.length - 1] !== line) show()
    },

    /** Ends the run. With `isToBeRemembered`, the next run with the same output is not shown. */
    end({ isToBeRemembered }: { readonly isToBeRemembered: boolean }): void {
      const isRepeated = isToBeRemembered && lines.length === remembered.length && shown === 0
      if (isRepeated && lines.length > 0) onLine('(the same output as before)')
      else show()
      remembered = isToBeRemembered ? lines : []
      lines = []
      shown = 0
    },
  }
}

const MAX_MESSAGES = 100

/** Logs messages that repeat ever more rarely: a month without the service would otherwise be 60 MB on a device's disk. */
export const limitRepeats = (log: (message: string) => void) => {
  const counts = new Map<string, number>()
  return {
    log(message: string): void {
      const text = message.replace(/ in [\d.]+ s\.$/, '')
      if (counts.size >= MAX_MESSAGES) counts.clear()
      const count = (counts.get(text) ?? 0) + 1
      counts.set(text, count)
      if (isLogged(count)) log(message)
    },

    /** The cause is over: the next messages are news. */
    reset: (): void => counts.clear(),
  }
}
