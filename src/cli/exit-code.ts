/** Exits svc with this code, such as that of a program that the command ran. */
export class ExitCode extends Error {
  override readonly name = 'ExitCode'
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit code ${exitCode}`)
    this.exitCode = exitCode
  }
}
