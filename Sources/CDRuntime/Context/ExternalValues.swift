#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The large values of one save. Their files are written before the save's transaction begins; the transaction
/// records the files that rows no longer refer to.
///
/// The table `_cdgen_files` lists the files that may have no row. A new file's name is listed before the file is
/// written, and unlisted in the transaction that makes a row refer to the file. The name of a replaced file is listed
/// in the transaction that replaces it. So at any time each file is referred to by a row or listed. A listed file is
/// removed once it is so old that no reader can still need it and no save can still be about to refer to it.
struct ExternalValues {
  private let session: any StoreWriteSession
  /// The values that were written to files, by object and slot.
  private var written: [Place: File] = [:]

  private struct Place: Hashable {
    let object: ObjectIdentifier
    let slot: Int
  }

  private struct File {
    let name: String
    let store: any AttachedStore
    let files: ExternalFiles
  }

  /// Writes the files of all objects that a save inserts or updates.
  ///
  /// - Parameter importTarget: Records the files that a migration writes, or has the listed files of an import; nil for
  ///   the save of an app.
  @_optimize(none)
  init(of plan: SavePlan, session: any StoreWriteSession, importTarget: (any ImportTarget)? = nil) throws {
    self.session = session
    var values: [(file: File, value: Data)] = []
    for (objects, isNew) in [(plan.inserted, true), (plan.updated, false)] {
      for object in objects where !object.scope.plan.externalSlots.isEmpty {
        guard let store = session.reader.stores.store(of: object.scope.plan), let files = store.files else {
          continue
        }
        for slot in object.scope.plan.externalSlots
        where isNew || object.extras?.changed.contains(slot) == true {
          guard case .data(let value) = object.storedValue(slot),
            value.count > ExternalFiles.largestInlineSize
          else { continue }
          let place = Place(object: ObjectIdentifier(object), slot: slot)
          if let listed = importTarget?.listedFiles {
            guard let name = try listed.write(value, in: store) else { continue }
            written[place] = File(name: name, store: store, files: files)
            continue
          }
          let file = File(name: UUID.random().uuidString, store: store, files: files)
          written[place] = file
          values.append((file, value))
        }
      }
    }
    guard !values.isEmpty else { return }
    do {
      try importTarget?.willWriteFiles(values.map(\.file.name))
      try session.write {
        for value in values { try session.listFile(value.file.name, in: value.file.store) }
      }
      for value in values { try value.file.files.write(value.value, name: value.file.name) }
      let folders = Dictionary(values.map { ($0.file.store.index, $0.file.files) }) { first, _ in first }
      for files in folders.values { try files.syncFolder() }
    } catch {
      discard(after: error)
      throw error
    }
  }

  /// The name of the file that holds a slot's value; nil if the value is not in a file.
  func name(_ object: ManagedObject, _ slot: Int) -> String? {
    written[Place(object: ObjectIdentifier(object), slot: slot)]?.name
  }

  /// Lists the files that a row refers to, before the row is changed or deleted.
  func replace(_ object: ManagedObject, slots: [Int]) throws {
    let plan = object.scope.plan
    guard !slots.isEmpty, let store = session.reader.stores.store(of: plan), store.files != nil else {
      return
    }
    for slot in slots {
      guard let column = plan.slots[slot].columns.first.map({ plan.columns[$0] }),
        let name = try session.fileName(in: column, of: plan, object.key)
      else { continue }
      try session.listFile(name, in: store)
    }
  }

  /// Unlists the save's own files. Call it last in the save's transaction.
  @_optimize(none)
  func keep() throws {
    for file in written.values {
      // If a save takes longer than the age limit, a collection may have removed its files.
      guard try session.unlistFile(file.name, in: file.store), file.files.exists(file.name) else {
        throw StoreError.externalData(
          file.files.folder.appending(path: file.name),
          reason: "it was removed while the save was running; save again")
      }
    }
  }

  /// Removes the files of a save that failed, except in the stores that the save has reached or whose files may name them.
  ///
  /// - Parameter error: The error of the save.
  @_optimize(none)
  func discard(after error: any Error, exceptIn storeIndices: Set<Int> = []) {
    let lost = written.values.filter { !storeIndices.contains($0.store.index) }
    guard !lost.isEmpty else { return }
    for file in lost { file.files.remove(file.name) }
    // Another transaction would wait as long again for others. A later collection takes the files off the list.
    if case StoreError.busy = error { return }
    // If this fails, a later collection removes the listed files.
    try? session.write { for file in lost { try session.unlistFile(file.name, in: file.store) } }
  }
}
