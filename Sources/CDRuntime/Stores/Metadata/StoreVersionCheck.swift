import CDMapping
package import CDModel

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// Compares the metadata of a store with the model that it is opened with.
package struct StoreVersionCheck {
  /// The URL that errors show.
  private let url: URL
  private let model: ModelPlan
  /// The index of the store in the coordinator.
  private let storeIndex: Int
  /// The configurations of this store and of the coordinator's other stores; nil if they are not known.
  private let configurations: (own: String?, others: [String?])?

  /// Creates a check.
  package init(
    url: URL, model: ModelPlan, storeIndex: Int, configurations: (own: String?, others: [String?])?
  ) {
    self.url = url
    self.model = model
    self.storeIndex = storeIndex
    self.configurations = configurations
  }

  /// Checks that a store has the data of the model's current version.
  ///
  /// - Parameter tables: The tables of the store.
  /// - Returns: The metadata that the store should have. Its indexes may differ from the ones of the store.
  /// - Throws: ``StoreError/otherModel(_:found:expected:)``, ``StoreError/needsMigration(_:model:from:to:)`` or
  ///   ``StoreError/otherConfiguration(_:holds:configuration:asked:)``; or a ``MigrationError`` if the data or the rows are
  ///   those of a version that the model does not have yet.
  package func check(_ found: StoreMetadata, tables: Set<String>) throws -> StoreMetadata {
    let source = model.source(ofStore: storeIndex)
    guard found.modelID == source.model.id else {
      throw StoreError.otherModel(
        url, found: found.model, expected: ModelIdentity(source.model))
    }
    // A store that was written with exactly this version and for the same entities already has the expected metadata.
    let isSame =
      model.isWhole(store: storeIndex) && found.version == source.version.canonicalJSON
      && model.entities.map(\.table).allSatisfy(tables.contains)
    var wanted = isSame ? found : StoreMetadata(model, storeID: found.storeID, store: storeIndex)
    // An update of indexes changes no rows.
    wanted.rowsVersions = found.rowsVersions
    if found.dataHash == wanted.dataHash, let outdated = found.outdated(source.model) {
      throw MigrationError(url, .newerStore(current: outdated.currentVersionNumber))
    }
    guard found.dataHash == wanted.dataHash, !hasMappedSteps(from: found) else {
      if found.dataHash != wanted.dataHash { try checkConfiguration(found, tables: tables) }
      if let outdated = outdatedModel(found, tables: tables, source.model) {
        throw MigrationError(url, .newerStore(current: outdated.currentVersionNumber))
      }
      throw needsMigration(found, to: source)
    }
    return wanted
  }

  /// Returns the model, or the part of a merged model, that has no version of a newer store, so that a migration would
  /// refuse the store too. Nil if a migration may be possible.
  @_optimize(none)
  private func outdatedModel(
    _ found: StoreMetadata, tables: Set<String>, _ model: ManagedObjectModel
  ) -> ManagedObjectModel? {
    guard let stored = try? ModelVersion(canonicalJSON: found.version) else { return nil }
    let hashes = stored.hashes.entities
    func isLater(_ number: Int, than model: ManagedObjectModel) -> Bool {
      model.versions.allSatisfy { $0.number < number }
    }
    // A migration starts from an earlier version if that stores the same.
    if model.parts.isEmpty {
      guard isLater(found.versionNumber, than: model) else { return nil }
      let graph = EntityGraph(stored)
      let held = hashes.filter { tables.contains(graph.root(of: $0.key)?.name ?? $0.key) }
      let isWhole = self.model.isWhole(store: storeIndex)
      let fits = model.versions.contains { version in
        let own = version.hashes.entities
        return held.allSatisfy { own[$0.key]?.data == $0.value.data }
          && (!isWhole || own.count == hashes.count)
      }
      return fits ? nil : model
    }
    return model.parts.first { part in
      guard let number = found.partVersions[part.id], isLater(number, than: part) else { return false }
      return !part.versions.contains { version in
        version.hashes.entities.allSatisfy { hashes[$0.key]?.data == $0.value.data }
      }
    }
  }

  /// Returns the error for a store of another version. For a store of several merged models, the error names the first
  /// model whose version differs.
  private func needsMigration(_ found: StoreMetadata, to source: StoreSource) -> StoreError {
    for part in source.model.parts {
      if let number = found.partVersions[part.id], number != part.currentVersionNumber {
        return .needsMigration(url, model: part.name, from: number, to: part.currentVersionNumber)
      }
    }
    return .needsMigration(
      url, model: found.modelName, from: found.versionNumber, to: source.version.number)
  }

  /// Throws an error if the store holds other entities than the configurations assign to it, according to the version
  /// that it was written with. A migration could not change this.
  @_optimize(none)
  private func checkConfiguration(_ found: StoreMetadata, tables: Set<String>) throws {
    guard let configurations, let version = try? ModelVersion(canonicalJSON: found.version) else { return }
    let graph = EntityGraph(version)
    let names = Set(version.configurations.map(\.name))
    // The version does not have this configuration, so it is ignored.
    let known = [configurations.own] + configurations.others.filter { $0.map(names.contains) ?? true }
    func root(_ entity: String) -> String { graph.root(of: entity)?.name ?? entity }
    /// The entities that the first store has.
    @_optimize(none)
    func entities(_ configurations: [String?]) -> [String]? {
      guard let assignment = try? StoreAssignment(graph, configurations: configurations) else { return nil }
      return version.entities.map(\.name).filter { assignment.storeIndices[root($0)] == 0 }
    }
    guard let asked = entities(known) else { return }
    let holds = version.entities.map(\.name).filter { tables.contains(root($0)) }
    guard holds != asked else { return }
    // The configuration of another store has another name in this version, or is new. Then this store may have held what no
    // configuration lists, or what one of them does. The migration finds out.
    if configurations.own == nil, known.count <= configurations.others.count {
      let names: [String?] = version.configurations.map { $0.name }
      if entities([nil] + names) == holds || names.contains(where: { entities([$0]) == holds }) { return }
    }
    let fitting = version.configurations.first { Set($0.entities.map(root)) == Set(holds.map(root)) }
    throw StoreError.otherConfiguration(url, holds: holds, configuration: fitting?.name, asked: asked)
  }

  /// Whether mappings change objects in the steps from the store's version to the current one, although both store the
  /// same data.
  private func hasMappedSteps(from found: StoreMetadata) -> Bool {
    let model = model.source(ofStore: storeIndex).model
    if model.parts.isEmpty { return Self.hasMappedSteps(from: found.versionNumber, of: model) }
    return model.parts.contains { part in
      found.partVersions[part.id].map { Self.hasMappedSteps(from: $0, of: part) } ?? false
    }
  }

  private static func hasMappedSteps(from version: Int, of model: ManagedObjectModel) -> Bool {
    // Mappings may calculate values. Two properties that exchange their names do not change the hashes.
    guard version != model.currentVersionNumber, model.mayChangeRowsOfSameData else { return false }
    let paths = VersionPaths(model)
    let current = model.currentVersionNumber
    // The way back changes the rows of the same objects as the way there.
    let steps = paths.steps(from: version, to: current) ?? paths.steps(from: current, to: version) ?? []
    return steps.contains { !$0.changesNoData }
  }
}

extension ManagedObjectModel {
  /// Whether a step may change rows between versions with the same hash of the data. Only rules and renames can.
  package var mayChangeRowsOfSameData: Bool { !mappings.isEmpty || versions.contains(where: \.hasRenames) }
}

extension ModelVersion {
  /// Whether an entity, a property or a field of a composite had another name in the previous version.
  @_optimize(none)
  fileprivate var hasRenames: Bool {
    entities.contains { entity in
      entity.renamedFrom != nil || entity.attributes.contains { $0.renamedFrom != nil }
        || entity.relationships.contains { $0.renamedFrom != nil }
    } || composites.contains { $0.fields.contains { $0.renamedFrom != nil } }
  }
}
