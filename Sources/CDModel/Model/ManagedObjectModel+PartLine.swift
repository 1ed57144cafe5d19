#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

extension ManagedObjectModel {
  /// The versions of one part of a merged model, each beside one version of every other part: what a store of several
  /// parts goes through while that part moves along its line.
  ///
  /// The numbers, bases and mappings are the part's. What was renamed in other parts is no matter of this line. A
  /// version that does not go together with the others, because both have an entity of one name, is left out.
  ///
  /// - Parameters:
  ///   - part: The identity of the part.
  ///   - numbers: The versions of the others, by their identities.
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
      // The parts change a type that they share, one after the other.
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

  /// The model with one version alone.
  private func of(_ version: ModelVersion) -> ManagedObjectModel {
    ManagedObjectModel(name: name, id: id, versions: [version], currentVersionNumber: version.number)
  }
}

extension ModelVersion {
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

  /// Gives all enumerations and composites other names, which no data hash covers.
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
