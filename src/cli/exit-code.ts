/** The command ran another program to its end, and what that said goes for svc too. */
export class ExitCode extends Error {
  override readonly name = 'ExitCode'
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`)
    this.exitCode = exitCode
  }
}
