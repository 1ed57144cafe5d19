#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The list of the files to which no row of a store refers, for a store that is read as a whole. It has the name of
/// each file, and the time when an opening has found that the file is unused.
///
/// The times of the files themselves cannot tell this, because a file is created long before it becomes unused. The
/// store's own file does not contain the list, because an opening does not write that file. So the list is a file in
/// the folder of the values. If it is lost, the unused files only stay longer.
struct UnusedFiles {
  private let files: ExternalFiles
  /// The name is not a UUID, so the list is never taken for a value.
  private let path: String

  init(_ files: ExternalFiles) {
    self.files = files
    path = files.folderPath + "/_cdgen_unused"
  }

  /// Removes the files that have been on the list for long enough, and lists the others.
  ///
  /// - Parameters:
  ///   - unused: The names of the files to which no row of the store refers now.
  ///   - kept: Returns the names of the files that backups need; nil if the names are unknown. It is called only if a
  ///     file would be removed, because it reads the backups.
  @_optimize(none)
  func collect(_ unused: Set<String>, now: Date = Date(), keeping kept: () -> Set<String>?) {
    let now = now.timeIntervalSinceReferenceDate
    let listed = read()
    // A file that a row refers to again is not in `unused`, and leaves the list. A time in the future comes from a clock
    // that was wrong.
    var times = Dictionary(uniqueKeysWithValues: unused.map { ($0, min(listed[$0] ?? now, now)) })
    let old = times.filter { $0.value < now - ExternalFiles.grace }.keys
    if !old.isEmpty, let kept = kept() {
      for name in old {
        if kept.contains(name) {
          // With a new time, the next opening does not read the backups again.
          times[name] = now
        } else {
          files.remove(name)
          times[name] = nil
        }
      }
    }
    if times != listed { write(times) }
  }

  /// The times by the names of the files; empty if there is no list.
  @_optimize(none)
  func read() -> [String: Double] {
    // The file could be of another type. Reading a pipe, for example, could wait forever.
    guard Disk.kind(of: path) == S_IFREG, let data = FileManager.default.contents(atPath: path) else {
      return [:]
    }
    // An entry without a line break may have been written only in part.
    let lines = String(decoding: data, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    var times: [String: Double] = [:]
    for line in lines {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let time = Double(parts[1]), time.isFinite else { continue }
      times[String(parts[0])] = time
    }
    return times
  }

  /// Replaces the list. If this fails, entries are missing, and their files stay longer.
  @_optimize(none)
  func write(_ times: [String: Double]) {
    unlink(path)
    guard !times.isEmpty, let file = try? NewFile(path) else { return }
    let text = times.orderedByKey().map { "\($0.key) \($0.value)\n" }.joined()
    try? file.write(text.utf8)
    try? file.finish()
  }
}
