#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The files for the large values of one long transaction.
///
/// The name of a file must be listed in a transaction that ends before the file is written: see ``ExternalValues``. A long
/// transaction writes files while it is open. Therefore all names are listed before it begins, and unlisted as its last
/// change. After a crash, the names are still listed, and a later collection removes the files.
final class ListedFiles {
  private struct Names {
    let store: any AttachedStore
    let files: ExternalFiles
    /// The names from here on have no file yet.
    var next = 0
    let all: [UUID]
  }

  private let session: any StoreWriteSession
  /// The names, by the index of the store.
  private var names: [Int: Names] = [:]

  /// Lists names.
  ///
  /// - Parameters:
  ///   - count: The greatest number of files that are needed in one store.
  ///   - session: The session in which the long transaction will begin.
  /// - Throws: ``StoreError``. No name is listed then.
  @_optimize(none)
  init(count: Int, _ session: any StoreWriteSession) throws {
    self.session = session
    guard count > 0 else { return }
    for store in session.reader.stores.all where !store.isReadOnly {
      guard let files = store.files else { continue }
      names[store.index] = Names(store: store, files: files, all: (0..<count).map { _ in UUID.random() })
    }
    guard !names.isEmpty else { return }
    try session.write {
      for own in names.values {
        for name in own.all { try session.listFile(name.uuidString, in: own.store) }
      }
    }
  }

  /// Whether no file can be written.
  var isEmpty: Bool { names.isEmpty }

  /// Writes a value to a file.
  ///
  /// - Returns: The name of the file. Nil if there are no more names: the row then contains the value itself.
  func write(_ value: Data, in store: any AttachedStore) throws(StoreError) -> String? {
    guard let own = names[store.index], own.next < own.all.count else { return nil }
    let name = own.all[own.next].uuidString
    // Counted before the file is complete, so that an error removes it.
    names[store.index]?.next += 1
    try own.files.write(value, name: name)
    return name
  }

  /// Keeps the files as part of their stores. Call this last in the transaction.
  ///
  /// - Throws: ``StoreError`` if a file does not exist any more.
  @_optimize(none)
  func keep() throws {
    for own in names.values {
      if own.next > 0 { try own.files.syncFolder() }
      for (index, name) in own.all.enumerated() {
        let isListed = try session.unlistFile(name.uuidString, in: own.store)
        guard index >= own.next || isListed && own.files.exists(name.uuidString) else {
          throw StoreError.externalData(
            own.files.folder.appending(path: name.uuidString),
            reason: "it was removed while the objects were being loaded; load them again")
        }
      }
    }
  }

  /// Removes the files after a transaction that failed. Files of a store that the transaction has reached are not listed
  /// any more, and stay. So do those of a store whose own file may still name them.
  ///
  /// - Parameter error: The error that the transaction has thrown.
  func discard(after error: any Error) {
    let unrestored = StoreError.unrestoredFiles(after: error)
    let lost = names.values.filter { !unrestored.contains($0.store.url) }
    guard !lost.isEmpty else { return }
    // If this fails, a later collection removes the listed files.
    try? session.write {
      for own in lost {
        for (index, name) in own.all.enumerated() {
          if try session.unlistFile(name.uuidString, in: own.store), index < own.next {
            own.files.remove(name.uuidString)
          }
        }
      }
    }
  }
}
