import CDModel

/// The checks after all files have been read: the lock, and the steps between versions.
struct StepChecks {
  let versions: [ModelVersion]
  let files: [ModelFile]
  let positions: ElementPositions
  let diagnostics: DiagnosticCollector

  /// The paths of files with errors.
  private var wrongPaths: Set<String> {
    Set(diagnostics.sorted.lazy.filter { $0.severity == .error }.map(\.location.path))
  }

  /// Whether all errors so far are in mapping files or in the lock, so that the steps can be checked.
  var areVersionsRight: Bool {
    let others = files.filter { file in
      switch file.kind {
      case .mapping, .lock: true
      default: false
      }
    }
    return wrongPaths.isSubset(of: others.map(\.path))
  }

  /// Checks that each mapping is between two different, existing versions.
  func checkNumbers(of mappings: [MappingRules]) {
    let numbers = Set(files.compactMap { if case .version(let number) = $0.kind { number } else { nil } })
    for rules in mappings {
      guard
        let place = positions.nearest(to: .mapping(from: rules.source, to: rules.destination))
      else { continue }
      if rules.source == rules.destination {
        diagnostics.error(place, "a mapping leads from one version to another")
      }
      for number in [rules.source, rules.destination] where !numbers.contains(number) {
        diagnostics.error(
          place, "the model has no version \(number); its file would be \(VersionFile.name(of: number))")
      }
    }
  }

  /// Returns the numbers of the locked versions that have files, and of those that have changed.
  func checkLocks(
    _ entries: [LockParser.Entry], unreadable: Set<Int>
  ) -> (locked: Set<Int>, changed: Set<Int>) {
    let wrong = wrongPaths
    let wrongVersions = files.compactMap { file -> Int? in
      if case .version(let number) = file.kind, wrong.contains(file.path) { number } else { nil }
    }
    let validator = LockValidator(
      entries: entries, versions: versions, unreadable: unreadable.union(wrongVersions),
      positions: positions, diagnostics: diagnostics)
    return validator.validate()
  }

  func prove(_ model: ManagedObjectModel, locked: Set<Int>, changed: Set<Int>, broken: Set<String>) {
    ProofValidator(
      model: model, locked: locked, changed: changed, broken: broken, positions: positions,
      diagnostics: diagnostics
    ).validate()
  }
}

extension MappingRules {
  /// `3-4`
  var stepName: String { "\(source)-\(destination)" }
}
