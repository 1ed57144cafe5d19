import CDModel

/// What a store holds in a version that has configurations, but not the one of the store's description: the version has the
/// configuration under another name, or the store had none. Also what a store without a configuration holds in a version that
/// lacks the configuration of another store.
enum FormerConfiguration {
  case whole
  case named(String)
  /// The entities that no configuration has.
  case rest

  /// The configurations with which a version gives the store its entities, the store's own one first; nil if the version
  /// lacks the configuration.
  @_optimize(none)
  func configurations(in version: ModelVersion) -> [String?]? {
    let names: [String?] = version.configurations.map { $0.name }
    switch self {
    case .whole: return [nil]
    case .named(let name): return names.contains(name) ? [name] : nil
    case .rest: return [nil] + names
    }
  }
}

extension StoreMigration {
  /// The same migration, with what the store tells about its configuration.
  @_optimize(none)
  func resolved() throws -> StoreMigration {
    let isWhole = description.configuration == nil && others.allSatisfy { $0.configuration == nil }
    guard !isWhole, model.parts.isEmpty else { return self }
    do {
      let (found, storedVersion) = try FolderLock.whileBusy(url, timeout: description.busyTimeout) {
        try read()
      }
      return knowing(found, storedVersion)
    } catch StoreError.busy {
      throw MigrationError(url, .inUse)
    }
  }

  /// Returns the same migration, which knows what the store holds in versions without the configuration of its description.
  @_optimize(none)
  func knowing(_ found: StoreMetadata, _ storedVersion: ModelVersion) -> StoreMigration {
    var result = self
    result.former = findFormer(found, storedVersion)
    return result
  }

  /// The configuration of another store that a version lacks; nil if it has all of them.
  ///
  /// A store without a configuration holds the entities that no other store has. If a version lacks the configuration of
  /// another store, it does not say which entities these are.
  @_optimize(none)
  func otherConfiguration(missingIn version: ModelVersion) -> String? {
    let names = Set(version.configurations.map(\.name))
    return others.lazy.compactMap(\.configuration).first { !names.contains($0) }
  }

  /// Refuses a store without a configuration if nothing tells which of its version's entities it holds.
  @_optimize(none)
  func checkConfiguration(_ found: StoreMetadata, _ storedVersion: ModelVersion) throws {
    guard description.configuration == nil, model.parts.isEmpty, former == nil,
      !storedVersion.configurations.isEmpty, let missing = otherConfiguration(missingIn: storedVersion),
      try plan(storedVersion).dataHash(ofStore: 0).description != found.dataHash
    else { return }
    throw ModelError.unknownConfiguration(missing)
  }

  /// Finds the configuration that the store had when it was written. Its data hash tells which entities it holds.
  @_optimize(none)
  private func findFormer(_ found: StoreMetadata, _ storedVersion: ModelVersion) -> FormerConfiguration? {
    let names = storedVersion.configurations.map(\.name)
    guard model.parts.isEmpty, !names.isEmpty else { return nil }
    func holdsSame(_ configurations: [String?]) -> Bool {
      let plan = try? plan(storedVersion, configurations)
      return plan?.dataHash(ofStore: 0).description == found.dataHash
    }
    var candidates: [FormerConfiguration]
    if let asked = description.configuration {
      let ordered = names.filter { $0 == asked } + names.filter { $0 != asked }
      candidates = ordered.map { .named($0) }
      // A store of all entities has no configuration, even if one configuration has all entities too.
      candidates.insert(.whole, at: names.contains(asked) ? 1 : 0)
      candidates.append(.rest)
    } else {
      // The configurations that the version does have may be enough.
      guard otherConfiguration(missingIn: storedVersion) != nil, let known = try? stores(storedVersion),
        !holdsSame(known.map(\.configuration))
      else { return nil }
      candidates = names.map { .named($0) }
      candidates.insert(.rest, at: 0)
    }
    return candidates.first { candidate in
      candidate.configurations(in: storedVersion).map(holdsSame) ?? false
    }
  }
}
