interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | string } }
}

/** What to do if `error` says that too many files are open; null for other errors. The last words are Emscripten's for EMFILE. */
export const openFilesAdvice = (error: unknown): string | null => {
  const words = String(error)
  if (/\bENFILE\b/.test(words))
    return 'This machine has too many open files. Stop other programs, or raise fs.file-max.'
  if (!/\bEMFILE\b|No file descriptors available/.test(words)) return null
  // The report opens no file, unlike /proc/self/limits.
  const limit = (process.report.getReport() as Report).userLimits?.open_files?.soft
  return (
    `This process may open only ${limit ?? 'a few'} files, which is too few. Raise the limit to 4096 or more: ulimit -n in the ` +
    'shell, LimitNOFILE in the systemd unit, --ulimit nofile= of a container.'
  )
}
