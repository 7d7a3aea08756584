import { ServiceError } from '../domain/errors.ts'
import { TransferError } from '../platform/transfer/transfer-error.ts'
import { Failure } from './failure.ts'

const FILE_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  ELOOP: 'its path has too many symbolic links',
  EIO: 'the disk reports an error',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than allowed (ulimit -f)',
  EROFS: 'the disk is read-only',
}

const FILE_WRITES: ReadonlySet<string> = new Set(['write', 'fsync', 'fdatasync', 'ftruncate', 'close'])

/** Returns why a file or folder cannot be used; undefined for unexpected errors. */
export const fileReason = ({ code, syscall }: NodeJS.ErrnoException): string | undefined => {
  if (code === 'EEXIST') return syscall === 'mkdir' ? 'it is a file, not a folder' : 'it already exists'
  // Not that a parent is missing, which makeFolder creates.
  if (code === 'ENOENT' && syscall === 'mkdir') return 'the file system does not allow new files there'
  return FILE_REASONS[code ?? '']
}

/** `model.onnx.0123456789ab.tmp`, or of a download `.model.onnx.0123456789abcdef.part.lock` -> `model.onnx`, which the user knows. */
const withoutTemporaryName = (path: string): string =>
  path.replace(/\.[\da-f]{12}\.tmp$/, '').replace(/\.([^/\\]+)\.[\da-f]{16}\.part(?:\.lock)?$/, '$1')

/** True if the error's message is written for users. Errors of other modules are recognized by name. */
const isForPeople = (error: Error): boolean =>
  error instanceof ServiceError || ['ApiError', 'NetworkError', 'InferenceError', 'Failure'].includes(error.name)

/** Formats an error for the user: what failed, why, and what to do. Includes a stack trace only if the error is unexpected. */
export const explain = (error: unknown): string => {
  if (error instanceof Failure || error instanceof TransferError)
    return error.advice === undefined ? error.message : `${error.message}\n${error.advice}`
  if (!(error instanceof Error)) return `Unexpected error: ${String(error)}`
  if (isForPeople(error)) return error.message
  const { path, syscall } = error as NodeJS.ErrnoException
  const reason = fileReason(error)
  if (path !== undefined && reason !== undefined) return `Cannot use ${withoutTemporaryName(path)}: ${reason}.`
  // Read and write errors of an open file do not include its path.
  const done = syscall === 'read' ? 'read' : FILE_WRITES.has(syscall ?? '') ? 'written' : undefined
  if (done !== undefined && reason !== undefined) return `A file cannot be ${done}: ${reason}.`
  return `Unexpected error in svc. Please report it with these lines:\n${error.stack}`
}
