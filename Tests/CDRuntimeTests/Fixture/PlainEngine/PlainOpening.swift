import CDModel
import Foundation

@testable import CDRuntime

/// The opening of a plain store: checks its contents, creates it if it does not exist, and migrates it if it is of an older
/// version.
struct PlainOpening {
  let url: URL
  let settings: StoreSettings
  let model: ModelPlan
  /// The index of the store in the coordinator.
  let storeIndex: Int
  /// The configurations of the coordinator's other stores.
  let others: [String?]
  let lists: PlainUniqueLists

  /// - Returns: The store and its rows.
  /// - Throws: ``StoreError`` or ``MigrationError``. An existing store is then unchanged.
  func open() throws -> (store: PlainStore, state: PlainState) {
    // Nobody else may change the store between the check and the first save.
    let lease = settings.isReadOnly ? nil : try PlainStores.lease(url)
    let (state, migration) = try state(lease)
    let metadata = try StoreMetadata(entries: state.metadata[storeIndex] ?? [:], url: url)
    let store = PlainStore(
      index: storeIndex, url: url, storeID: metadata.storeID, lease: lease, migration: migration)
    return (store, state)
  }

  private func state(_ lease: PlainLease?) throws -> (PlainState, MigrationResult?) {
    guard let image = try PlainStores.image(at: url) else {
      guard let lease else { throw PlainStores.missing(url) }
      let state = created()
      write(state, lease)
      return (state, nil)
    }
    do {
      return (try contents(of: image, lease), nil)
    } catch StoreError.needsMigration where settings.migrator != nil {
      guard let lease, let migrator = settings.migrator else { throw StoreError.readOnly(url) }
      return try migrate(image, by: migrator, lease)
    }
  }

  private func write(_ state: PlainState, _ lease: PlainLease) {
    lease.write(PlainImage(model: model, storeIndex: storeIndex, state: state))
  }

  /// The state of a new store.
  ///
  /// - Parameter nextKeys: The next keys of root entities.
  private func created(nextKeys: [String: Int64] = [:]) -> PlainState {
    var state = PlainState()
    for (root, next) in nextKeys { if let plan = model.entity(root) { state.nextKeys[plan.index] = next } }
    state.metadata[storeIndex] = StoreMetadata.ofNewStore(model, storeID: UUID(), store: storeIndex).entries
    return state
  }

  /// The state of an existing store, whose metadata are brought up to date.
  private func contents(of image: PlainImage, _ lease: PlainLease?) throws -> PlainState {
    let stored = image.stored(url)
    let found = try stored.metadata()
    let wanted = try StoreVersionCheck(
      url: url, model: model, storeIndex: storeIndex, configurations: (settings.configuration, others)
    ).check(found, tables: stored.names)
    var state: PlainState
    do {
      state = try self.state(of: image.contents(), checksUniqueValues: lease != nil)
    } catch let duplicate as PlainDuplicate {
      throw MigrationError(
        url, .duplicate(properties: duplicate.properties),
        step: MigrationError.Step(source: found.versionNumber, destination: wanted.versionNumber),
        entity: duplicate.entity, objectKey: duplicate.key)
    }
    guard let lease,
      found.layoutHash != wanted.layoutHash || found.definitionHash != wanted.definitionHash
        || found.partVersions != wanted.partVersions
    else { return state }
    var entries = wanted.entries
    entries["createdBy"] = found.createdBy
    state.metadata[storeIndex, default: [:]].merge(entries) { $1 }
    write(state, lease)
    return state
  }

  private func state(of contents: StoreContents, checksUniqueValues: Bool = true) throws -> PlainState {
    let receiver = PlainReceiver(
      model, store: storeIndex, lists, checksUniqueValues: checksUniqueValues)
    do {
      try StoreBuilder(receiver, url: url, current: (model, storeIndex)).add(contents)
    } catch let error as StoreFormatError { throw StoreError.unreadable(url, error) }
    return receiver.state
  }

  private func migrate(
    _ image: PlainImage, by migrator: any StoreMigrator, _ lease: PlainLease
  ) throws -> (PlainState, MigrationResult?) {
    var state = PlainState()
    let stored = image.stored(url)
    let result = try migrator.migrate(stored) { contents in
      if let contents {
        state = try self.state(of: contents)
      } else {
        state = created(nextKeys: try stored.nextKeysAfterErasure(for: model, store: storeIndex))
      }
      try migrator.checkCancelled(url)
      write(state, lease)
    }
    return (state, result)
  }
}

/// Reads and writes whole plain stores, for copies.
struct PlainTransfer: StoreTransfer {
  let url: URL

  func exists() throws -> Bool { try PlainStores.image(at: url) != nil }

  func read<R>(_ body: (StoredTables) throws -> R) throws -> R {
    guard let image = try PlainStores.image(at: url) else { throw PlainStores.missing(url) }
    return try body(image.stored(url))
  }

  func create(_ contents: StoreContents, of model: ModelPlan) throws {
    let receiver = PlainReceiver(model, store: 0, PlainUniqueLists(model))
    do {
      try StoreBuilder(receiver, url: url, current: (model, 0)).add(contents)
    } catch let error as StoreFormatError {
      throw StoreError.unreadable(url, error)
    } catch let duplicate as PlainDuplicate {
      let index = "\(duplicate.entity).unique.\(duplicate.properties.joined(separator: "."))"
      throw StoreError.unreadable(url, StoreFormatError(.notUnique(index: index)))
    }
    try PlainStores.create(PlainImage(model: model, storeIndex: 0, state: receiver.state), at: url)
  }

  func remove() throws { try PlainStores.remove(url) }
}
