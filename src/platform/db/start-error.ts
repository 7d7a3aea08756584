/** The database cannot be opened: the message is meant for whoever started the program, and stops the start. */
export class StartError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'StartError'
  }
}
