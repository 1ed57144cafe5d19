import CDModel

/// What a store holds in a version that has configurations, but not the one of the store's description: the version has the
/// configuration under another name, or the store had none.
enum FormerConfiguration {
  case whole
  case named(String)
  /// The entities that no configuration has.
  case rest

  /// The configurations with which a version gives the store its entities, the store's own one first; nil if the version
  /// lacks the configuration.
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
  /// Returns the same migration, which knows what the store holds in versions without the configuration of its description.
  @_optimize(none)
  func knowing(_ found: StoreMetadata, _ storedVersion: ModelVersion) -> StoreMigration {
    var result = self
    result.former = findFormer(found, storedVersion)
    return result
  }

  /// Finds the configuration that the store had when it was written. Its data hash tells which entities it holds.
  @_optimize(none)
  private func findFormer(_ found: StoreMetadata, _ storedVersion: ModelVersion) -> FormerConfiguration? {
    let names = storedVersion.configurations.map(\.name)
    guard let asked = description.configuration, model.parts.isEmpty, !names.isEmpty else { return nil }
    let ordered = names.filter { $0 == asked } + names.filter { $0 != asked }
    var candidates: [FormerConfiguration] = ordered.map { .named($0) }
    // A store of all entities has no configuration, even if one configuration has all entities too.
    candidates.insert(.whole, at: names.contains(asked) ? 1 : 0)
    candidates.append(.rest)
    return candidates.first { candidate in
      guard let configurations = candidate.configurations(in: storedVersion) else { return false }
      let plan = try? plan(storedVersion, configurations)
      return plan?.dataHash(ofStore: 0).description == found.dataHash
    }
  }
}
