#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension ManagedObjectModel {
  /// The versions of one part of a merged model, each combined with one version of every other part. A store of several
  /// parts goes through these versions while that part migrates.
  ///
  /// Numbers, bases and mappings are those of the part. Renamings in the other parts are ignored. A version that cannot
  /// be merged with the others, for example because both have an entity of the same name, is left out.
  ///
  /// - Parameters:
  ///   - part: The identity of the part.
  ///   - numbers: The versions of the other parts, by identity.
  @_optimize(none)
  package func line(ofPart part: UUID, beside numbers: [UUID: Int]) -> ManagedObjectModel? {
    guard let moving = parts.first(where: { $0.id == part }) else { return nil }
    let versions = moving.versions.compactMap { version -> ModelVersion? in
      guard var merged = merged(version, of: part, beside: numbers) else { return nil }
      merged.number = version.number
      merged.basedOn = version.basedOn
      return merged
    }
    return ManagedObjectModel(
      name: name, id: id, versions: versions, currentVersionNumber: moving.currentVersionNumber,
      mappings: moving.mappings)
  }

  private func merged(
    _ version: ModelVersion, of part: UUID, beside numbers: [UUID: Int]
  ) -> ModelVersion? {
    let states = parts.compactMap { each -> ManagedObjectModel? in
      guard each.id != part else { return each.of(version) }
      guard var state = numbers[each.id].flatMap(each.version) else { return nil }
      state.forgetRenaming()
      return each.of(state)
    }
    guard states.count == parts.count else { return nil }
    do {
      return try ManagedObjectModel(merging: states).currentVersion
    } catch .typeInTwo {
      // The parts share a type and change it one after the other, so it differs between them for a while.
      let apart = states.map { state in
        guard state.id != part, var version = state.currentVersion else { return state }
        version.prefixTypes(with: state.name + ".")
        return state.of(version)
      }
      return try? ManagedObjectModel(merging: apart).currentVersion
    } catch {
      return nil
    }
  }

  /// The model with only one version.
  private func of(_ version: ModelVersion) -> ManagedObjectModel {
    ManagedObjectModel(name: name, id: id, versions: [version], currentVersionNumber: version.number)
  }
}

extension ModelVersion {
  @_optimize(none)
  fileprivate mutating func forgetRenaming() {
    for entity in entities.indices {
      entities[entity].renamedFrom = nil
      for place in entities[entity].attributes.indices {
        entities[entity].attributes[place].renamedFrom = nil
      }
      for place in entities[entity].relationships.indices {
        entities[entity].relationships[place].renamedFrom = nil
      }
    }
    for composite in composites.indices {
      for place in composites[composite].fields.indices {
        composites[composite].fields[place].renamedFrom = nil
      }
    }
  }

  /// Renames all enumerations and composites. Data hashes do not cover these names.
  @_optimize(none)
  fileprivate mutating func prefixTypes(with prefix: String) {
    func renamed(_ type: AttributeType) -> AttributeType {
      switch type {
      case .enumeration(let name): .enumeration(prefix + name)
      case .composite(let name): .composite(prefix + name)
      default: type
      }
    }
    for place in enums.indices { enums[place].name = prefix + enums[place].name }
    for composite in composites.indices {
      composites[composite].name = prefix + composites[composite].name
      for place in composites[composite].fields.indices {
        composites[composite].fields[place].type = renamed(composites[composite].fields[place].type)
      }
    }
    for entity in entities.indices {
      for place in entities[entity].attributes.indices {
        entities[entity].attributes[place].type = renamed(entities[entity].attributes[place].type)
      }
    }
  }
}
