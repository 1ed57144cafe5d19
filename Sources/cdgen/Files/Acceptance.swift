import CDConsole
import CDMapping
import CDModel
import CDSchema

/// Confirms losses in a model's mapping files.
struct Acceptance {
  var folder: String
  var loaded: LoadedModel

  /// Adds the confirmations that steps need to their mappings, and prints a line for each.
  func write(_ steps: [MigrationStep]) throws {
    for step in steps {
      let confirmations = MappingFile.Confirmations(of: step)
      if confirmations.isEmpty { continue }
      let name = MappingFile.name(from: step.source, to: step.destination)
      let path = FileSystem.join(folder, name)
      let old = loaded.files.first { $0.name == name }.map { String(decoding: $0.bytes, as: UTF8.self) }
      guard let text = MappingFile.adding(confirmations, to: old), try isRead(text, confirmations, step)
      else {
        throw Failure(
          path,
          "this file cannot be edited automatically in its present form; add the 'drop's that 'cdgen diff' names "
            + "by hand"
        )
      }
      try OutputFile(path: path, contents: text).write()
      for each in confirmations.properties {
        Console.error("note: \(path): confirmed the loss of '\(each.name)' for '\(each.entity)'")
      }
      for each in confirmations.entities {
        Console.error("note: \(path): confirmed the loss of '\(each)'")
      }
    }
  }

  /// Whether the new text contains the confirmations and everything that the old text contained.
  private func isRead(
    _ text: String, _ confirmations: MappingFile.Confirmations, _ step: MigrationStep
  ) throws -> Bool {
    var files: [String: [UInt8]] = [:]
    for file in loaded.files { files[file.name] = file.bytes }
    files[MappingFile.name(from: step.source, to: step.destination)] = Array(text.utf8)
    let model = ModelLoader.load(name: loaded.unprovenModel?.name ?? "", files: files).unprovenModel
    guard
      var rules = model?.mappings.first(where: {
        $0.source == step.source && $0.destination == step.destination
      })
    else { return false }
    for entity in confirmations.entities {
      guard let place = rules.drops.lastIndex(of: entity) else { return false }
      rules.drops.remove(at: place)
    }
    for property in confirmations.properties {
      guard
        let place = rules.entities.firstIndex(where: {
          $0.destination == property.entity && $0.drops.contains(property.name)
        })
      else { return false }
      rules.entities[place].drops.removeAll { $0 == property.name }
    }
    // Rules that exist only for a drop are new.
    let before = step.rules ?? MappingRules(source: step.source, destination: step.destination)
    let old = Set(before.entities.map(\.destination))
    rules.entities.removeAll {
      !old.contains($0.destination) && $0 == EntityRule(destination: $0.destination)
    }
    return rules == before
  }
}
