import CDModel
import CDSchema

/// Makes the rules of mapping files of Xcode's mapping models.
struct MappingImporter {
  let model: ManagedObjectModel
  let history: HistoryImporter

  struct Result {
    var rules: [MappingRules] = []
    /// What is remarked at the top of a file, by its name.
    var notes: [String: String] = [:]
    var diagnostics: [Diagnostic] = []
  }

  func rules(of files: [XcodeMappingFile]) -> Result { Result() }
}
