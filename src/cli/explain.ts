import { ServiceError } from '../domain/errors.ts'
import { Failure } from './failure.ts'

const FILE_REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of its path is not a folder',
  EISDIR: 'it is a folder',
  ENAMETOOLONG: 'its name is too long',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the disk is read-only',
}

const FILE_WRITES: ReadonlySet<string> = new Set(['write', 'fsync', 'fdatasync', 'ftruncate', 'close'])

/** Why a file or folder cannot be used; undefined for what nobody foresaw. */
export const fileReason = ({ code, syscall }: NodeJS.ErrnoException): string | undefined => {
  if (code === 'EEXIST') return syscall === 'mkdir' ? 'it is a file, not a folder' : 'it already exists'
  return FILE_REASONS[code ?? '']
}

/** Errors whose message was written for people: ours, and those of other rooms, known by name. */
const isForPeople = (error: Error): boolean =>
  error instanceof ServiceError || ['ApiError', 'NetworkError', 'InferenceError', 'Failure'].includes(error.name)

/** What a person is told about an error: what failed, why, and what to do. A stack only for what nobody foresaw. */
export const explain = (error: unknown): string => {
  if (error instanceof Failure) return error.advice === undefined ? error.message : `${error.message}\n${error.advice}`
  if (!(error instanceof Error)) return `Unexpected error: ${String(error)}`
  if (isForPeople(error)) return error.message
  const { path, syscall } = error as NodeJS.ErrnoException
  const reason = fileReason(error)
  if (path !== undefined && reason !== undefined) return `Cannot use ${path}: ${reason}.`
  // Reads and writes of an open file do not say which one it is.
  const done = syscall === 'read' ? 'read' : FILE_WRITES.has(syscall ?? '') ? 'written' : undefined
  if (done !== undefined && reason !== undefined) return `A file cannot be ${done}: ${reason}.`
  return `Unexpected error in svc. Please report it with these lines:\n${error.stack}`
}
