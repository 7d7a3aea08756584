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
