// Code that uses models also uses their values, so one import gives both modules.
@_exported public import CDValues
